import * as apigateway from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { AaaaRecord, ARecord, HostedZone, RecordTarget } from 'aws-cdk-lib/aws-route53';
import { ApiGatewayDomain } from 'aws-cdk-lib/aws-route53-targets';
import { Construct } from 'constructs';
import { apiStageName, tlsPolicy } from './api.ts';
import type { StageSettings } from '../configuration/settings.ts';

export interface CustomDomainProps {
  readonly api: apigateway.RestApi;
  readonly domain: NonNullable<StageSettings['domain']>;
}

/** The stage's own address, `https://<name>/v1`. */
export class CustomDomain extends Construct {
  readonly url: string;
  /** The target of the name's DNS record, if the zone is not in Route 53. */
  readonly target: string;

  constructor(scope: Construct, id: string, { api, domain }: CustomDomainProps) {
    super(scope, id);
    const domainName = new apigateway.DomainName(this, 'DomainName', {
      domainName: domain.name,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', domain.certificateArn),
      endpointType: apigateway.EndpointType.REGIONAL,
      // API Gateway negotiates by the policy of the API, so a weaker one here would admit no further client:
      // https://docs.aws.amazon.com/apigateway/latest/developerguide/apigateway-custom-domain-tls-version.html
      securityPolicy: tlsPolicy,
      endpointAccessMode: apigateway.EndpointAccessMode.STRICT,
    });
    (domainName.node.defaultChild as apigateway.CfnDomainName).endpointConfiguration = {
      types: [apigateway.EndpointType.REGIONAL],
      ipAddressType: apigateway.IpAddressType.DUAL_STACK,
    };
    domainName.addBasePathMapping(api, { basePath: apiStageName, stage: api.deploymentStage });
    this.url = `https://${domain.name}/${apiStageName}`;
    this.target = domainName.domainNameAliasDomainName;

    if (domain.hostedZone !== undefined) {
      const zone = HostedZone.fromHostedZoneAttributes(this, 'Zone', {
        hostedZoneId: domain.hostedZone.id,
        zoneName: domain.hostedZone.name,
      });
      const target = RecordTarget.fromAlias(new ApiGatewayDomain(domainName));
      new ARecord(this, 'Ipv4', { zone, recordName: `${domain.name}.`, target });
      new AaaaRecord(this, 'Ipv6', { zone, recordName: `${domain.name}.`, target });
    }
  }
}
